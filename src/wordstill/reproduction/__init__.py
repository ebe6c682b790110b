"""Tables of the papers, made again by one call: text, vocabulary, systems and protocol as the paper says."""

from wordstill.reproduction.plans import TablePlan, find_plan, plan_names
from wordstill.reproduction.reproducing import ReproduceConfig, Reproduction, Row, reproduce

__all__ = ["ReproduceConfig", "Reproduction", "Row", "TablePlan", "find_plan", "plan_names", "reproduce"]
