"""What the native compiler and the debugger both need, and what knows of neither."""
