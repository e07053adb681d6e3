"""Commands: how what an answer is about is started, with every flag that it assumed."""
