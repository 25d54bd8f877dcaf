"""The contracts of Tiltyard: what is read, written and agreed between the rooms."""
