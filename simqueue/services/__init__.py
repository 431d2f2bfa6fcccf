"""What handlers talk to through `ctx`: each a service that outlives the workers."""
