"""Posteriors in files: arrays behind a JSON header, and nothing that could be executed."""

from bcart.storage.model import SavedModel, annotate_model, load_model, save_model, summarise

__all__ = ["SavedModel", "annotate_model", "load_model", "save_model", "summarise"]
