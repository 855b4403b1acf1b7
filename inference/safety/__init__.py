"""Safety classifiers and the policy that turns scores into verdicts. Knows nothing of requests; never imports torch."""

from inference.safety.guard import Check, Guard, load_guard

__all__ = ["Check", "Guard", "load_guard"]
