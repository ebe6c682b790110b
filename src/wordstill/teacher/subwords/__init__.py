"""From the text of the store to the teacher's sub-words, and which of them make up each word."""
