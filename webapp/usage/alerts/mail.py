"""Sends one alert by e-mail, through Django's mail framework. Knows nothing of rules."""

from __future__ import annotations

from smtplib import SMTPException, SMTPRecipientsRefused, SMTPResponseException
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage

from webapp.usage.alerts.webhook import Answer

NOT_SET = "E-mail is not set up: SIGHTGLASS_EMAIL_URL is unset."
_MAX_SUBJECT = 150


def send(address: str, title: str, text: str, headers: dict[str, Any]) -> Answer:
    """Send the alert."""
    email = settings.ENVIRONMENT.email
    if email is None:
        return Answer(False, NOT_SET)
    subject = " ".join(f"Sightglass: {title}".split())
    short = subject if len(subject) <= _MAX_SUBJECT else subject[: _MAX_SUBJECT - 1] + "…"
    try:
        EmailMessage(short, text, email.sender, [address], headers=headers).send()
    except SMTPRecipientsRefused:
        return Answer(False, "The mail server refused the recipient.", may_retry=False)
    except SMTPResponseException as error:
        return Answer(False, f"The mail server answered {error.smtp_code}.", may_retry=error.smtp_code < 500)
    except (SMTPException, OSError) as error:
        return Answer(False, f"The mail server could not be reached ({type(error).__name__}).")
    return Answer(True, "The mail server took it.")
