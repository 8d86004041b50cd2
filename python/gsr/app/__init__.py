"""`gsr app`: a page in the browser to set up a search, watch it and use its laws."""
