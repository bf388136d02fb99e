"""What a program offers to a policy: the hoisted const-exprs, found, classified and measured."""
