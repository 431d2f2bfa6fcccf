"""The log family of brokers: partitions, offsets, consumer groups, commits."""
