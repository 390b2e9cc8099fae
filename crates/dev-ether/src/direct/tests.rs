//! Both ends of direct connections over a seeded TCP that breaks.
