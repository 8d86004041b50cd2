"""`gsr app`: a page in the browser on which a search is set up, watched and used."""
