"""Why a request or an action is refused, in words for its user. Knows nothing of HTTP's answers."""

from __future__ import annotations


class Refused(Exception):
    """A limit, a flag or a stop stands against it."""

    def __init__(self, code: str, message: str, retry_after_s: int = 0) -> None:
        super().__init__(message)
        self.code = code
        """Stable word, for programs and for the record of use."""
        self.retry_after_s = retry_after_s
        """0: waiting does not help."""


def sending_stopped(reason: str) -> Refused:
    because = f": {reason.rstrip('.')}" if reason else ""
    return Refused("sending_stopped", f"An operator has stopped your sending{because}. Ask the operator to undo it.")


def too_fast(per_minute: int, num_new: int, wait_s: int) -> Refused:
    limit = f"{per_minute} request{'' if per_minute == 1 else 's'} a minute"
    if num_new > per_minute:
        return Refused("rate_limited", f"You asked for {num_new} answers; your limit is {limit}. Ask for fewer.")
    return Refused("rate_limited", f"You have reached your limit of {limit}. Try again in {wait_s} s.", wait_s)


def day_used_up(limit: int, used: int, wait_s: int) -> Refused:
    hours, minutes = divmod(-(-wait_s // 60), 60)
    when = f"{hours} h {minutes} min" if hours else f"{minutes} min"
    message = f"You have used {used:,} of your {limit:,} tokens for today. Try again in {when}, at midnight UTC."
    return Refused("day_used_up", message, wait_s)


def forms_too_complex(num: int, wait_s: int) -> Refused:
    why = f"{num} of your answers have failed of late, as the form asked of them was too complex."
    return Refused("rate_limited", f"{why} Make the form simpler, and try again in {wait_s} s.", wait_s)


_ACTIONS = {
    "may_share": "share traces by links",
    "may_probe": "look into the model",
    "may_rerun": "run saved requests again",
}


def switched_off(flag: str) -> Refused:
    return Refused("switched_off", f"An operator has not allowed you to {_ACTIONS[flag]}. Ask for it to be allowed.")
