"""The mail channel: hands each message to an SMTP server as a mail of its own.

The ``Message-ID`` is made of the message's id and so is the same in every attempt: mailboxes that drop duplicates drop
these.  The text is for people to read, and the payload is attached.  A server that accepts a mail has it for good; its
answer to QUIT does not count.
"""

from __future__ import annotations

import json
import smtplib
import socket
import ssl
from base64 import b64encode
from contextlib import suppress
from dataclasses import dataclass, field
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from tidings.clock import instant
from tidings.deliver.attempts import Attempt, Attempts
from tidings.deliver.channel import Arrived, Failed, Refused, SendOutcome
from tidings.deliver.digest import digest
from tidings.masking import without
from tidings.store.rules.messages import Message
from tidings.targets import header_text, read_address


@dataclass(frozen=True, slots=True)
class Mail:
    """The server that mails are sent by, and the address they are sent from."""

    host: str
    sender: str
    port: int = 25
    starttls: bool = False
    """Encrypt, or send nothing."""
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    """Only ever sent over an encrypted connection."""
    timeout: float = 30.0
    """How many seconds a mail may take, however slowly the server answers."""
    tls: ssl.SSLContext = field(default_factory=ssl.create_default_context, repr=False)


@dataclass(frozen=True, slots=True)
class MailChannel:
    """Sends messages as mails."""

    settings: Mail
    attempts: Attempts = field(default_factory=Attempts, repr=False)
    is_instant: bool = field(init=False, default=False)

    def send(self, message: Message, now: int) -> SendOutcome:
        settings = self.settings
        try:
            mail = as_mail(message, settings.sender)
        except (ValueError, IndexError, MessageError) as error:
            return Refused(f"a mail cannot be sent to {message.target}: {error}")
        if settings.user is not None and not settings.starttls:
            return Failed("a password is sent over an encrypted connection only: set starttls")
        try:
            return self._send(mail)
        except smtplib.SMTPRecipientsRefused as error:
            code, text = next(iter(error.recipients.values()))
            return self._refusal(code, text)
        except smtplib.SMTPDataError as error:
            return self._refusal(error.smtp_code, error.smtp_error)
        except OSError as error:  # the base class of what smtplib raises
            return Failed(f"{settings.host}: {self._without_password(str(error))}", unreachable=True)

    def _send(self, mail: EmailMessage) -> SendOutcome:
        server: _Server | None = None
        try:
            with self.attempts.within(self.settings.timeout) as attempt:
                server = _Server(self.settings, attempt)
                self._hand_over(server, mail)
            return Arrived()
        finally:
            if server is not None:
                self._take_leave(server)

    def _hand_over(self, server: smtplib.SMTP, mail: EmailMessage) -> None:
        settings = self.settings
        if settings.starttls:
            server.starttls(context=settings.tls)
        if settings.user is not None:
            server.login(settings.user, settings.password or "")
        server.send_message(mail)

    def _refusal(self, code: int, text: bytes | str) -> SendOutcome:
        """The outcome of a mail that the server refused: from code 500 on it is final."""
        said = text.decode(errors="replace") if isinstance(text, bytes) else text
        reason = self._without_password(f"{code} {said}")
        return Refused(reason) if code >= 500 else Failed(reason)

    def _without_password(self, text: str) -> str:
        """What a server said, which may say what it was told."""
        password = self.settings.password
        return text if password is None else without(text, password, b64encode(password.encode()).decode())

    def _take_leave(self, server: smtplib.SMTP) -> None:
        with suppress(OSError), self.attempts.within(_GOODBYE) as attempt:
            if server.sock is not None:
                attempt.watch(server.sock)
                server.quit()
        server.close()


_GOODBYE = 2.0
"""How many seconds an answer to QUIT is waited for; it does not count."""


class _Server(smtplib.SMTP):
    """A session with the server, which ends with the attempt."""

    def __init__(self, settings: Mail, attempt: Attempt) -> None:
        self._attempt = attempt
        super().__init__(settings.host, settings.port, timeout=settings.timeout)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        """What smtplib calls for a connection."""
        return self._attempt.connect([host], port)


def as_mail(message: Message, sender: str) -> EmailMessage:
    """A message as a mail; a ValueError or MessageError if the target is no address."""
    domain = Address(addr_spec=sender).domain
    mail = EmailMessage(SMTP)
    mail["From"] = sender
    mail["To"] = read_address(message.target)
    mail["Subject"] = f"Tidings: {header_text(message.rule)}"
    mail["Date"] = format_datetime(instant(message.created))
    mail["Message-ID"] = f"<{message.id}@{domain}>"
    mail["Auto-Submitted"] = "auto-generated"
    payload = json.loads(message.payload)
    mail.set_content(digest(payload), cte="quoted-printable")  # not every server accepts eight bits
    text = json.dumps(payload, indent=2, ensure_ascii=False) + "\n"
    mail.add_attachment(text.encode(), maintype="application", subtype="json", filename="payload.json")
    mail.set_boundary(f"=={message.id}==")  # the same in every attempt
    return mail
