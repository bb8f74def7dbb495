"""The operations, by what they are about; importing a module registers its operations."""
