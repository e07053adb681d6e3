"""A run that a reader measured, beside what is computed: term by term, and what corrects it."""
