"""The prose of the fake web: plausible English and French sentences, so that language and main-text
detection have something to find.

Sentences are drawn once per web into a pool; a page draws its own from the pool, which is cheap and makes
any two pages differ. Equal seeds and keys give equal text.
"""

from random import Random


def words(text: str) -> list[str]:
    """A list of words, readable in the source."""
    return text.split()


_ENGLISH = (
    "The {a} {n} of the {p} was {v} by the {n} before the {a} season came to an end.",
    "Nobody in the {p} knows why the {n} should be {v} again, but many people think that it will.",
    "When the {a} {n} is {v}, the {p} has more than enough room for another {n}.",
    "It took them three years to find out that the {n} near the {p} had been {v} all along.",
    "You can read more about this {a} {n} in the report which the {p} published last week.",
    "Although the {n} is {a}, it has never been {v} as often as the {n} of the {p}.",
    "They say that a {a} {n} and a {a} {n} are worth as much as the whole {p}.",
)
_ENGLISH_WORDS = {
    "a": words("quiet bright late small grand northern modern hidden common wide wooden broken famous careful"),
    "n": words("bridge market garden station letter window harbour library road museum engine storm voice map"),
    "p": words("city village council university valley old town company river bank school hospital"),
    "v": words("repaired opened described measured forgotten painted sold discussed visited closed moved"),
}
_FRENCH = (
    "Le {n} de la {p} a été {v} avant la fin de l'été, où tout le monde était déjà {a}.",
    "Personne ne sait pourquoi le {n} {a} devrait être {v} à nouveau près de la {p}.",
    "Après des années, on a découvert que le {n} était {v}, même si la {p} reste très {a}.",
    "Vous pouvez lire le récit complet du {n} {a} dans le journal publié par la {p}.",
)
_FRENCH_WORDS = {
    "a": words("tranquille célèbre étroit fidèle sévère immense léger"),
    "n": words("café marché théâtre musée château bâtiment fleuve"),
    "p": words("ville forêt vallée région mairie société province"),
    "v": words("réparé oublié mesuré décrit visité préféré"),
}
#: for the exhibit in Shift_JIS
JAPANESE = "これは架空のウェブのページです。駅から図書館まで歩いて十分ほどかかります。"
_POOL = 1024


class Prose:
    """Sentences on demand."""

    def __init__(self, seed: int) -> None:
        chance = Random(seed)
        self._english = [_sentence(chance, _ENGLISH, _ENGLISH_WORDS) for _ in range(_POOL)]
        self._french = [_sentence(chance, _FRENCH, _FRENCH_WORDS) for _ in range(_POOL)]

    def paragraphs(self, key: int, size_bytes: int, french: bool = False) -> list[str]:
        """Paragraphs of about that many bytes together, at least one."""
        pool = self._french if french else self._english
        count = max(2, size_bytes // 85)  # about the length of a sentence with its share of the tags
        chosen = Random(key).choices(pool, k=count)
        return [" ".join(chosen[at : at + 5]) for at in range(0, count, 5)]


def _sentence(chance: Random, patterns: tuple[str, ...], words: dict[str, list[str]]) -> str:
    text = chance.choice(patterns)
    for slot, choices in words.items():
        while f"{{{slot}}}" in text:
            text = text.replace(f"{{{slot}}}", chance.choice(choices), 1)
    return text
