"""Mail: each message as a mail of its own, handed to an SMTP server.

The ``Message-ID`` is made of the message's id and so is the same in every attempt: mailboxes that drop doubles drop
these.  A server that takes a mail has it for good; what it answers to the good-bye does not count.
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
from tidings.deliver.channel import Arrived, Failed, Outcome, Refused
from tidings.store.rules.outbox import Message


@dataclass(frozen=True, slots=True)
class Mail:
    """Sends messages by one server, from one address."""

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
    at_once: bool = field(default=False, init=False)

    def send(self, message: Message, now: int) -> Outcome:
        try:
            mail = written(message, self.sender)
        except (ValueError, IndexError, MessageError) as error:
            return Refused(f"{message.target} is no address: {error}")
        if self.user is not None and not self.starttls:
            return Failed("a password is sent over an encrypted connection only: set starttls")
        try:
            server = smtplib.SMTP(self.host, self.port, timeout=self.timeout)
        except OSError as error:
            return Failed(f"{self.host}: {error}", unreachable=True)
        try:
            return self._hand_over(server, mail)
        finally:
            with suppress(OSError):
                server.quit()
            server.close()

    def _hand_over(self, server: smtplib.SMTP, mail: EmailMessage) -> Outcome:
        try:
            if self.starttls:
                server.starttls(context=self.tls)
            if self.user is not None:
                server.login(self.user, self.password or "")
            server.send_message(mail)
        except smtplib.SMTPRecipientsRefused as error:
            code, text = next(iter(error.recipients.values()))
            return _judged(code, text)
        except smtplib.SMTPDataError as error:
            return _judged(error.smtp_code, error.smtp_error)
        except OSError as error:  # what smtplib raises is one
            return Failed(f"{self.host}: {error}", unreachable=True)
        return Arrived()


def _judged(code: int, text: bytes | str) -> Outcome:
    """What a server's refusal of one mail means: from 500 on it is for good."""
    told = f"{code} {text.decode(errors='replace') if isinstance(text, bytes) else text}"
    return Refused(told) if code >= 500 else Failed(told)


def written(message: Message, sender: str) -> EmailMessage:
    """A message as a mail; a ValueError or MessageError if the target is no address."""
    domain = Address(addr_spec=sender).domain
    mail = EmailMessage(SMTP)
    mail["From"] = sender
    mail["To"] = Address(addr_spec=message.target)
    mail["Subject"] = f"Tidings: {' '.join(message.rule.split())}"
    mail["Date"] = format_datetime(instant(message.created))
    mail["Message-ID"] = f"<{message.id}@{domain}>"
    mail["Auto-Submitted"] = "auto-generated"
    text = json.dumps(json.loads(message.payload), indent=2, ensure_ascii=False) + "\n"
    mail.set_content(text, cte="quoted-printable")  # not every server takes eight bits
    return mail
