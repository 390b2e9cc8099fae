//! The conformance suite: what every device promises the transport, as tests that a device's own crate runs.
