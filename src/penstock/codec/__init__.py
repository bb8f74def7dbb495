"""Records to columns and back: Examples and SequenceExamples by a schema, natively."""
