"""What a run is asked for and what it leaves: settings, configuration files, run folders."""
