"""Tables of the papers, made again by one call: text, vocabulary, systems and protocol as the paper says."""

from wordstill.reproduction.meaning_tables import MeaningPlan
from wordstill.reproduction.plans import TablePlan, find_plan, plan_names
from wordstill.reproduction.reproducing import reproduce
from wordstill.reproduction.results import ReproduceConfig, Reproduction, Row

__all__ = ["MeaningPlan", "ReproduceConfig", "Reproduction", "Row", "TablePlan", "find_plan", "plan_names", "reproduce"]
