"""Reproduction of the papers' tables: text, vocabulary, systems and protocol as in the paper, in one call."""

from wordstill.reproduction.meaning_tables import MeaningPlan
from wordstill.reproduction.plans import TablePlan, find_plan, plan_names
from wordstill.reproduction.reproducing import reproduce
from wordstill.reproduction.results import ReproduceConfig, Reproduction, Row

__all__ = ["MeaningPlan", "ReproduceConfig", "Reproduction", "Row", "TablePlan", "find_plan", "plan_names", "reproduce"]
