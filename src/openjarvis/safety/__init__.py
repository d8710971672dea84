"""What keeps secrets, files, the network and the terminal safe from the text that tools produce."""
