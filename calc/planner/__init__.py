"""The planner: questions that search the catalogue, answered by options that `estimate` stands behind."""
