"""What an implementation is asked, whoever wrote it: subjects, the reference, the strategies."""
