//! The embedded cluster, asked as a client asks it.

mod serve;
