"""Child processes, and the checks of folders whose files are executed or unpickled."""
