"""The mail channel: hands each message to an SMTP server as a mail of its own.

The ``Message-ID`` is made of the message's id and so is the same in every attempt: mailboxes that drop duplicates drop
these.  The text is for people to read, and the payload is attached.  A server that accepts a mail has it for good; its
answer to QUIT does not count.
"""

from __future__ import annotations

import json
import smtplib
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from tidings.clock import instant
from tidings.deliver.channel import Arrived, Failed, Refused, SendOutcome
from tidings.deliver.digest import digest
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
    tls: ssl.SSLContext = field(default_factory=ssl.create_default_context, repr=False)


@dataclass(frozen=True, slots=True)
class MailChannel:
    """Sends messages as mails."""

    settings: Mail
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
            server = smtplib.SMTP(settings.host, settings.port, timeout=settings.timeout)
        except OSError as error:
            return Failed(f"{settings.host}: {error}", unreachable=True)
        try:
            return self._hand_over(server, mail)
        finally:
            with suppress(OSError):
                server.quit()
            server.close()

    def _hand_over(self, server: smtplib.SMTP, mail: EmailMessage) -> SendOutcome:
        settings = self.settings
        try:
            if settings.starttls:
                server.starttls(context=settings.tls)
            if settings.user is not None:
                server.login(settings.user, settings.password or "")
            server.send_message(mail)
        except smtplib.SMTPRecipientsRefused as error:
            code, text = next(iter(error.recipients.values()))
            return _refusal(code, text)
        except smtplib.SMTPDataError as error:
            return _refusal(error.smtp_code, error.smtp_error)
        except OSError as error:  # the base class of what smtplib raises
            return Failed(f"{settings.host}: {error}", unreachable=True)
        return Arrived()


def _refusal(code: int, text: bytes | str) -> SendOutcome:
    """The outcome of a mail that the server refused: from code 500 on it is final."""
    reason = f"{code} {text.decode(errors='replace') if isinstance(text, bytes) else text}"
    return Refused(reason) if code >= 500 else Failed(reason)


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
