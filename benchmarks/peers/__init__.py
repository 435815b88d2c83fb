"""Other people's verifiers and mitigators, on the same models and people as ours."""
