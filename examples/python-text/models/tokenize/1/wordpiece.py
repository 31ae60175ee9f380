"""Splits texts into the word pieces of a vocabulary, as BERT does."""

import unicodedata

LONGEST_WORD = 100


def read_vocabulary(path):
    """Pieces and their ids: one piece a line. Those within a word begin with ##."""
    with open(path, encoding="utf-8") as file:
        return {piece.rstrip("\n"): number for number, piece in enumerate(file)}


def is_punctuation(character):
    """All that is not a letter, a digit or a space of ASCII, and what Unicode calls punctuation."""
    code = ord(character)
    if 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126:
        return True
    return unicodedata.category(character).startswith("P")


def is_ideograph(character):
    """Characters of Chinese are words of their own."""
    code = ord(character)
    return 0x4E00 <= code <= 0x9FFF or 0x3400 <= code <= 0x4DBF or 0xF900 <= code <= 0xFAFF or 0x20000 <= code <= 0x2CEAF


def words(text):
    """Words in lower case, and each punctuation mark for itself."""
    word = ""
    for character in text.lower():
        if character in "\0\ufffd" or (character not in "\t\n\r" and unicodedata.category(character).startswith("C")):
            continue
        alone = is_punctuation(character) or is_ideograph(character)
        if alone or character.isspace():
            if word:
                yield word
            word = ""
        if alone:
            yield character
        elif not character.isspace():
            word += character
    if word:
        yield word


class Tokenizer:
    def __init__(self, vocabulary, longest):
        self.vocabulary, self.longest = vocabulary, longest
        self.unknown, self.begin, self.end = (vocabulary[name] for name in ("[UNK]", "[CLS]", "[SEP]"))

    def pieces(self, word):
        """The ids of a word: the longest piece that fits, again and again; one id if nothing fits."""
        if len(word) > LONGEST_WORD:
            return [self.unknown]
        found, start = [], 0
        while start < len(word):
            mark = "##" if start > 0 else ""
            for end in range(len(word), start, -1):
                number = self.vocabulary.get(mark + word[start:end])
                if number is not None:
                    break
            else:
                return [self.unknown]
            found.append(number)
            start = end
        return found

    def encode(self, text):
        """The ids of a text, [SEP] the last of them, where it had to be cut, too."""
        ids = [self.begin]
        for word in words(text):
            ids += self.pieces(word)
            if len(ids) >= self.longest:
                break
        return ids[: self.longest - 1] + [self.end]
