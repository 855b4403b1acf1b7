"""The product's own address, for links in alerts."""

from __future__ import annotations

from django.conf import settings


def site_address() -> str:
    """The address by which users reach the product."""
    address: str = settings.ENVIRONMENT.public_url or settings.ENVIRONMENT.address
    return address
