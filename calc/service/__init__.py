"""Reading what a scenario says of a service: how requests come, and what they have in common."""
