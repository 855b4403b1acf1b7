"""Operations on a request that a person brings: take it apart, price it, send it."""

from __future__ import annotations

from dataclasses import replace

from asgiref.sync import sync_to_async
from django.http import HttpRequest
from django.utils import timezone

from webapp.api.families.family import arrival_of
from webapp.api.models.prices import VIEW
from webapp.api.surfaces.bring.apart import Apart, apart
from webapp.api.surfaces.bring.parse import read
from webapp.api.surfaces.bring.schema import BroughtPair, BroughtSent, BroughtText, PriceTable, PriceTables, TakenApart
from webapp.api.surfaces.learn import KindPrices
from webapp.api.turns import pastes
from webapp.ground.gateway.answer import Answer
from webapp.ground.gateway.errors import ApiError, user_id
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.timing import ServerTiming
from webapp.lifecycle.cache_peek import num_cached
from webapp.models.billing.bill import price_book
from webapp.models.billing.naming import model_names
from webapp.models.registry.offered import enabled
from webapp.requests.delivery import Key
from webapp.requests.failure import CannotPrepare
from webapp.surfaces.bring.kinds import Body, Kind, Malformed, Unknown, recognised
from webapp.surfaces.calls.call import PlainCall, begin
from webapp.usage.limits.window import is_within

MAX_TEXT_BYTES = 768 << 10
"""Of one text. Two of them fit a body of 2 MiB, with the escapes of JSON within JSON."""
_WINDOW_S, MOST_TEXTS = 10, 20
"""Texts of one user in a window of time."""


async def take_apart(request: HttpRequest, body: BroughtPair) -> TakenApart:
    """Take a request's body, an answer or a recorded event stream apart. Nothing is stored or sent.

    400 `invalid_json`, `unknown_shape`, or the field that is wrong; 404 `unknown_model`; 413 `too_large`; 429.
    """
    found = await sync_to_async(_apart)(body, user_id(request))
    shown = found.shown.body
    if shown is not None and found.ids:
        shown.num_cached = await num_cached(list(found.ids), shown.model, f"user:{user_id(request)}")
    return found.shown


def list_price_tables(request: HttpRequest) -> PriceTables:
    """List today's prices of the models that are offered; for operators, those of every model."""
    book, names, today = price_book(), model_names(), timezone.now().date()
    offered = [each.pk for each in enabled()]
    others = [each for each in book.models if each not in offered] if request.user.has_perm(VIEW) else []
    tables = []
    for model in [*offered, *others]:
        if (found := book.in_force(model, today)) is not None:
            prices = KindPrices(**found.unit_nano)
            tables.append(PriceTable(model, names.get(model, model), found.currency, found.version, prices))
    return PriceTables(tables=tables)


@answers(202)
def send_brought(request: HttpRequest, body: BroughtText, key: Key | None, timing: ServerTiming) -> Answer[BroughtSent]:
    """Send a brought body as a request of the signed-in user. The model here answers it, whichever the body names.

    400 with the field that the model here refuses; 413 `too_large`; 422 `key_reused`; 429 `too_many_requests`,
    `rate_limited`, `day_used_up`, `budget_used_up`, `busy`; 403 `sending_stopped`.
    """
    _check_size(body.text)
    kind = body.kind or _kind_of(body.text)
    call = read(body.text, kind, body.model, user_id(request)).make_call()
    family = "anthropic" if kind == "messages" else "openai"
    # The page sent another call than this one, whose model may be another too.
    arrival = replace(arrival_of(request, timing, family), sent=None)
    begun = begin(call, user_id(request), arrival, key, "completions" if isinstance(call, PlainCall) else "chat")
    return Answer(BroughtSent([each.pk for each in begun.requests]), is_repeat=begun.is_repeat)


def _kind_of(text: str) -> Kind:
    """Raises ApiError."""
    found = _recognised(text)
    if not isinstance(found, Body):
        raise ApiError(400, "unknown_shape", "Only a request's body can be sent, and this is an answer.", "text")
    return found.kind


def _recognised(text: str) -> object:
    try:
        return recognised(text)
    except (Malformed, Unknown) as error:
        raise _refusal(error) from None


def _apart(body: BroughtPair, user: int) -> Apart:
    for text in (body.text, body.before or ""):
        _check_size(text)
    if not is_within("bring", user, MOST_TEXTS, _WINDOW_S):
        message = f"At most {MOST_TEXTS} texts in {_WINDOW_S} s are taken apart. Wait a moment and try again."
        raise ApiError(429, "too_many", message, retry_after_s=_WINDOW_S)
    with pastes().turn(user):
        try:
            return apart(body, user)
        except (Malformed, Unknown) as error:
            raise _refusal(error) from None
        except CannotPrepare as error:
            raise ApiError(503, error.failure.code, error.failure.message) from None


def _check_size(text: str) -> None:
    """Raises ApiError."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        message = f"The text has half a surrogate pair at character {error.start + 1}. Send valid Unicode."
        raise ApiError(400, "invalid_text", message, "text") from None
    if size > MAX_TEXT_BYTES:
        message = f"The text has {size:,} bytes; {MAX_TEXT_BYTES:,} can be taken apart. Shorten it."
        raise ApiError(413, "too_large", message, "text")


def _refusal(error: Malformed | Unknown) -> ApiError:
    if isinstance(error, Unknown):
        return ApiError(400, "unknown_shape", str(error), "text")
    return ApiError(400, "invalid_json", f"The text is no valid JSON: {error}.", "text")
