"""A request that was accepted, as in the lifecycle's tests."""

from tests.webapp.lifecycle.conftest import request_ as request_
