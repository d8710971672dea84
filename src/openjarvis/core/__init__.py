"""The ground floor: types, errors, events and registries that every other part speaks in."""
