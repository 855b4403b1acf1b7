"""Keys of users' programs: made, found, revoked. A key acts for its user, within its scopes."""
