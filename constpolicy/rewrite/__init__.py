"""What each action does to the IR: one file per action, with its legality and its edit."""
