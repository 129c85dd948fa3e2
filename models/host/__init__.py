"""What this code starts and trusts on a user's machine: child processes, and folders that only the user may write."""
