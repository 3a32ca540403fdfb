"""Language: which one a text is written in, as a code of ISO 639, or "" where that is not sure.

Two things tell a language. Its script, where it is the only one that many pages use it for (Greek, Thai, Korean…).
And its function words ("the", "und", "que"): they make up a third of any running text, so a few lines are enough, and
what is no running text (code, tables of names) has none, so that nothing is said about it. n-grams of letters, which
most libraries count, take a page of identifiers for Latin or Danish.

What the page declares is a prior: it decides where the text says nothing and where the text agrees with it nearly as
well as with another language. It does not stand against a text that is plainly in another one.

Pure; time is linear in the sample, which is bounded.
"""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping

#: characters of the text that are looked at
SAMPLE_LENGTH = 2000
#: function words that must be met: this many, of so many kinds (words of programs are no kind)
_FEWEST, _FEWEST_KINDS = 3, 2
#: one function word in so many words: below that, the words that were met came by chance
_SPARSE = 40
#: words of which it is asked first whether they are in the language that is declared; one of its function words in so
#: many of them is a sure sign
_FIRST_WORDS, _SURE = 150, 12
#: how much better than the next one a language must fit
_MARGIN = 1.5
#: how much better it fits where the page declares it
_PRIOR = 1.6
#: a word counts so often at most, in so many words: code repeats "if" and "for"
_REPEATS, _REPEATS_IN = 2, 25
#: a text has one function word for so many letters: to weigh a script against words
_LETTERS, _SYLLABLES = 15, 5

#: function words, the most frequent first; those of scripts with cases in lower case
_WORDS = {
    # Latin script
    "af": "die en van is het nie wat vir om te sy dat met hy wees word hulle ook kan was deur aan maar deel hierdie",
    "az": "və bir bu üçün ilə də da olan olaraq ki daha kimi çox sonra o edir onun belə lakin hər isə yalnız görə var",
    "ca": "de la i que el en a les els per un una amb del es no és al com més o si ha aquest aquesta quan són també "
    "però dels això podeu seva qualsevol des pot està sense",
    "cs": "a se na v je že s z do to o i pro jako ale by jsou k ve nebo po za tak od jeho které která který pokud není "
    "může při také aby již být jen lze pomocí této než však",
    "cy": "yn y a i o yr ar mae ei am ac wedi bod gan hyn un at fel ond oedd sydd neu eu cael gyda bydd nid",
    "da": "og i at er en til det den af for på de med der som ikke et kan har om fra eller du ved vil hvis skal sig "
    "denne blive bliver også efter nogle når hvor dette være",
    "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er "
    "hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum oder kann wenn durch diese nur",
    "en": "the of and to in is for that with on as by this are be it from or an at not was which can has have will you "
    "if its all when their your may been these other into any only were but should more they also a use used",
    "eo": "la de kaj en estas al por ne kiu ke kun la el aŭ sed tio kiel li ĝi pli ili tiu kiuj mi tiel per sur oni",
    "es": "de la que el en y a los se del las un por con no una su para es al lo como más o pero sus le si este esta "
    "cuando puede son está también entre desde todo sin sobre ser hay muy tiene cada usted",
    "et": "ja on ei et see kui ka mis oma selle aga või ning siis kes nii olla oli seda ta välja ainult kuid mida pole "
    "veel tema saab kõik mitte",
    "eu": "eta da ez bat du dira dute bere baina izan hau egin ere zuen duen edo den beste diren baino dago dela oso "
    "gabe dago horrek",
    "fi": "ja on ei että se oli hän mutta ovat kun tai joka myös jos niin kuin ole voi sen voit tämä tämän vain mukaan "
    "sekä käyttää ollut kuten jotka siitä olla myös jonka näin siten",
    "fr": "de la le et les des en un une du est que pour dans qui par sur au plus pas ne ce il se sont avec ou cette "
    "aux être vous si sa son mais comme nous peut ces tout ont été elle même leur fait deux entre également lorsque",
    "ga": "an na agus ar a i go is ag le sin bhí do seo ní ach mar bhí tá air féin leis ná nach ann atá siad sé",
    "gl": "de a o que e do da en un os para se unha con por non no na as é como ao máis dos das ou pero foi está son "
    "pode esta este tamén entre seu súa cando desde estes polo pola sen moi",
    "hr": "i u je se na da za su od s a kao što ili to koji ne iz o će koja koje bi ako samo biti nije kada po više "
    "ali možete također prema može nego kako te ovaj bio jer",
    "hu": "a az és hogy nem is egy ez van meg de vagy ha csak el már mint még azt ezt kell volt minden ki fel lehet "
    "ami amely után szerint ezek itt között akkor lesz pedig során által több",
    "id": "yang dan di dengan untuk dari ini pada dalam tidak adalah akan itu atau ke sebagai oleh dapat juga anda "
    "bisa lebih tersebut telah ada karena jika secara kita mereka saat seperti",
    "is": "og að í á er sem til um það við en af var með hann fyrir ekki þar eru ég frá hafa eða þess svo því þú hefur "
    "verið þegar mjög",
    "it": "di e che la il un in per è non una del si della le con da i sono al come dei nel alla più anche se gli ma "
    "questo questa delle essere può o ha lo quando viene ad dalla possono quale su tra degli nella ed ogni",
    "la": "et in est non ad ut cum quod qui sed per ex si de quae esse sunt enim hoc aut ab ac nec atque etiam eius "
    "autem quam neque inter",
    "lt": "ir yra kad į iš su tai ne kaip o buvo jo bet arba būti prie nuo bei už apie dar gali taip jau kurie tik "
    "savo šis per po jei",
    "lv": "un ir ar no uz par ka tas kas lai pēc tika bet vai arī ja pie kā viņš tā jau tikai var nav vairāk līdz ko "
    "šis būt šo bija to",
    "mt": "li ta il u fil ma tal huwa hija minn biex dan din għal kien jew dwar hu lil kull aktar",
    "nl": "de van het een en in is dat op te zijn met voor die aan er om ook als niet door of bij dan uit naar maar "
    "worden deze kan wordt heeft nog over dit wat zo hij was meer kunt u geen moet hebben",
    "no": "og i er til på det som for en av at med den de ikke et har om fra eller kan du du seg vil også var ble "
    "hvis være dette skal når denne blir noe mot så bare ved hvor etter ein eit ikkje frå eg dei vert ho som kva",
    "pl": "i w na z do się nie to że jest o a jak od za po dla przez są które lub może ale który tym oraz jego przy "
    "czy tak być jeśli ich pod ze można tylko należy także więc tego która aby gdy już",
    "pt": "de a o que e do da em um para é com não uma os no se na por mais as dos como mas ao ou das à seu sua quando "
    "são pode esta este também pelo pela você está até sem isso ser foi nos entre cada então",
    "ro": "de și în a la cu pe din o că este se nu care un mai pentru sunt prin sau ca al fi au ce această acest când "
    "poate dar fost după ale fie dacă fără unui cum lui trebuie toate aceste ei ai nici",
    "sk": "a sa na v je že s z do to o i pre ako ale by sú k vo alebo po za tak od jeho ktoré ktorá ktorý ak nie môže "
    "pri aj aby už byť len tento než však bol ich čo iba možno",
    "sl": "in je v za na da se so ki z pa tudi s kot po ali lahko bi ne od ni le iz do če pri bo kar več so tako biti "
    "o vse zaradi samo ker ga",
    "sq": "të dhe e në i një për që me nga u së si është më nuk ka por kjo se do janë ky kur mund duke ai tij",
    "sv": "och i att det som en på är av för med till den inte har de ett om från eller kan du så men var vid också "
    "när detta sig ska finns denna där mycket vara hur än kommer om du alla måste använda sedan utan",
    "sw": "ya na wa kwa ni katika za la kuwa hii cha au pia huo yake kama ambayo hiyo vya hiyo hao sana huu ili",
    "tl": "ang ng sa na mga ay at si ito para hindi ni kung kay mula siya isang may nang ko din rin lang niya",
    "tr": "ve bir bu için ile da de olarak daha çok olan gibi en ne kadar sonra o var ama veya her ya ise değil ancak "
    "tarafından şekilde değildir olduğu bunu göre içinde eğer olması nasıl sadece zaman ki böyle",
    "vi": "và của là có các trong cho không được một với những người để này khi đã từ về đến bạn nếu như sẽ hoặc cũng "
    "ra vào phải thể trên theo tại đó nhiều bị",
    # Cyrillic
    "ru": "и в не на что с по как это к из для от а о но за то все при его если так или было может только был бы быть "
    "она он они вы мы также до который которые этот где можно есть чтобы уже когда",
    "uk": "і в не на що з у та як це до за для від а о але й про його якщо так або було може тільки був бути вона він "
    "вони ви ми також який які цей де можна є щоб вже коли під",
    "be": "і ў не на што з у як гэта да за для ад а але яго калі так або было можа толькі быў быць яна ён яны вы мы "
    "таксама які якія гэты дзе ёсць каб ужо пры",
    "bg": "и на за да се в от не с че по е са като до към това или със при ще които но който може която след ако най "
    "през само беше има те той тя обаче",
    "sr": "и у је се на да за су од с а као што или то који не из о ће која које би ако само бити није када по више "
    "али може према него како те овај био јер",
    "mk": "и на во да се за од со не е што го ги беше но како тоа овој кои која може или биде по ќе кој само има при "
    "поради",
    "kk": "және бұл мен үшін бар бір деп да де еді болып осы жоқ арқылы кейін болған оның немесе қазақ ол туралы",
    "mn": "нь болон байна ба энэ юм бол байсан гэж тэр нэг хийх байгаа оны дээр гэсэн дараа болно тухай",
    # Arabic script
    "ar": "من في على إلى أن التي عن مع هذا هذه كان ما لا لم الذي أو ذلك قد بعد كل بين كما تم حيث وقد هو هي إذا عند غير "
    "يمكن يتم",
    "fa": "و در به از که این را با است برای آن یک خود تا بر می شود هم شما یا نیز اما شده کرد باید اگر های هر کند ها "
    "است. بود دارد",
    "ur": "کے کی میں کا ہے اور سے کو نے پر یہ اس کہ ہیں ایک بھی تھا وہ جو نہیں گیا کر لیے تو ان ہو ہوتا",
    # Devanagari
    "hi": "के है में की और से का को हैं पर यह इस ने कि एक भी नहीं लिए या हो कर था जो तो गया करने अपने साथ द्वारा",
    "mr": "आहे आणि या व हे ते मध्ये आहेत होते की तो ही त्या एक होता असे हा केले साठी नाही तर होती करून",
    "ne": "छ र को मा यो का ले लागि पनि गर्न छन् भएको हो तथा भने एक हुन्छ थियो गरेको यस वा तर नेपाल",
}
#: beginnings of blocks of Unicode, and what they hold: a language where a script is nearly always that one's, the name
#: of a script with several languages (in capitals), or "" for what tells nothing
_BLOCKS = (
    *((0x0, ""), (0x41, "LATIN"), (0x5B, ""), (0x61, "LATIN"), (0x7B, ""), (0xC0, "LATIN"), (0x250, "")),
    *((0x370, "el"), (0x400, "CYRILLIC"), (0x530, "hy"), (0x590, "he"), (0x600, "ARABIC"), (0x700, "")),
    *((0x900, "DEVANAGARI"), (0x980, "bn"), (0xA00, "pa"), (0xA80, "gu"), (0xB00, "or"), (0xB80, "ta")),
    *((0xC00, "te"), (0xC80, "kn"), (0xD00, "ml"), (0xD80, "si"), (0xE00, "th"), (0xE80, "lo"), (0xF00, "bo")),
    *((0x1000, "my"), (0x10A0, "ka"), (0x1100, "ko"), (0x1200, "am"), (0x1380, ""), (0x1780, "km"), (0x1800, "")),
    *((0x1E00, "LATIN"), (0x1F00, "el"), (0x2000, ""), (0x3040, "ja"), (0x3100, ""), (0x3400, "zh"), (0xA000, "")),
    *((0xAC00, "ko"), (0xD7B0, ""), (0xF900, "zh"), (0xFB00, ""), (0xFB50, "ARABIC"), (0xFE00, "")),
    *((0xFE70, "ARABIC"), (0xFF00, ""), (0xFF66, "ja"), (0xFFA0, ""), (0x20000, "zh"), (0x32000, "")),
)
_SHARED_SCRIPTS = {
    "CYRILLIC": ("ru", "uk", "be", "bg", "sr", "mk", "kk", "mn"),
    "ARABIC": ("ar", "fa", "ur"),
    "DEVANAGARI": ("hi", "mr", "ne"),
}
_STARTS = tuple(start for start, _ in _BLOCKS)
#: written without spaces: a character is a syllable or more
_SYLLABIC = frozenset(("ja", "zh", "ko", "th", "lo", "my", "km", "bo"))
#: languages that the words above do not tell apart: where one is found, another one that is declared is believed
_KIN = (
    frozenset(("no", "nb", "nn")),
    frozenset(("hr", "bs", "sr", "sh")),
    frozenset(("id", "ms")),
    frozenset(("fa", "ps")),
    frozenset(("he", "yi", "iw")),
    frozenset(("bn", "as")),
    frozenset(("zh", "yue", "wuu")),
    frozenset(("am", "ti")),
    frozenset(("tl", "fil")),
)
#: words of programs: they are no sign of running text, nor are single letters
_OF_PROGRAMS = frozenset(
    (
        *("all", "and", "any", "as", "case", "do", "end", "for", "from", "get", "if", "in", "is", "let", "new", "not"),
        *("on", "only", "or", "out", "raise", "set", "then", "this", "to", "use", "val", "with"),
    )
)
_ASCII = re.compile(r"[\x00-\x7f]+")


def _by_word() -> dict[str, tuple[str, ...]]:
    languages: dict[str, list[str]] = {}
    for language, words in _WORDS.items():
        for word in set(words.split()):
            languages.setdefault(word, []).append(language)
    return {word: tuple(found) for word, found in languages.items()}


_LANGUAGES = _by_word()
_OWN_WORDS = {language: frozenset(words.split()) for language, words in _WORDS.items()}


def detect(text: str, declared: str = "") -> str:
    """The language of a text; `declared` (a primary subtag) or else "" where the text does not tell."""
    sample = text[:SAMPLE_LENGTH]
    words = sample.lower().split()
    if _surely_fits(declared, words[:_FIRST_WORDS], sample):
        return declared
    met = _met(words)
    fits = _fits_of_words(met, len(words))
    if not sample.isascii():
        letters = _letters_by_script(sample)
        fits.update(_fits_of_scripts(letters))
        for script, languages in _SHARED_SCRIPTS.items():
            best = max(languages, key=lambda language: fits.get(language, 0))
            if fits.get(best):  # a letter is worth as much in a script that several languages share
                fits[best] = max(fits[best], letters[script] // _LETTERS)
    if not fits:
        return declared
    kin = next((each for each in _KIN if declared in each), (declared,))
    for language in kin:
        fits[language] = int(fits[language] * _PRIOR)
    best, *others = sorted(fits, key=fits.__getitem__, reverse=True)[:3]
    if best in kin or not all(_is_better(best, other, fits, met) for other in others):
        return declared
    return best


def _met(words: list[str]) -> dict[str, int]:
    """The function words that are met, of any language, with how often they count."""
    most = _REPEATS + len(words) // _REPEATS_IN
    met: dict[str, int] = {}
    for word in filter(_LANGUAGES.__contains__, words):  # a Counter of all words takes twice as long
        met[word] = met.get(word, 0) + 1
    return {word: min(times, most) for word, times in met.items()}


def _surely_fits(declared: str, words: list[str], sample: str) -> bool:
    """Whether no other language can fit these words better than the declared one: so it is with most pages."""
    own = _OWN_WORDS.get(declared, frozenset())
    mine = list(filter(own.__contains__, words))
    if len(mine) * _SURE < len(words) or sum(len(word) > 1 for word in set(mine) - _OF_PROGRAMS) < _FEWEST_KINDS:
        return False
    most = sum(map(_LANGUAGES.__contains__, words))  # another language has all function words that there are, at most,
    if not sample.isascii():  # or all letters beyond ASCII
        most = max(most, (len(sample.encode("utf-8", "surrogatepass")) - len(sample)) // _SYLLABLES)
    return len(mine) * _PRIOR >= most


def _fits_of_words(met: dict[str, int], total: int) -> defaultdict[str, int]:
    """By language, how many of its function words are met; only languages with enough of them."""
    fits: defaultdict[str, int] = defaultdict(int)
    kinds: defaultdict[str, int] = defaultdict(int)
    for word, times in met.items():
        tells = len(word) > 1 and word not in _OF_PROGRAMS
        for language in _LANGUAGES[word]:
            fits[language] += times
            kinds[language] += tells
    fewest = max(_FEWEST, total // _SPARSE)
    enough = {each: fit for each, fit in fits.items() if fit >= fewest and kinds[each] >= _FEWEST_KINDS}
    return defaultdict(int, enough)


def _is_better(one: str, other: str, fits: Mapping[str, int], met: dict[str, int]) -> bool:
    """Whether the first fits clearly better, by what the two do not share."""
    shared = sum(times for word, times in met.items() if one in (each := _LANGUAGES[word]) and other in each)
    return fits[one] - shared >= _MARGIN * (fits[other] - shared) + 1


def _letters_by_script(sample: str) -> Counter[str]:
    letters: Counter[str] = Counter()
    for character, times in Counter(_ASCII.sub("", sample)).items():
        letters[_BLOCKS[bisect_right(_STARTS, ord(character)) - 1][1]] += times
    if letters["ja"] * _SYLLABLES > letters["zh"]:  # Japanese writes its nouns in Chinese characters
        letters["ja"] += letters.pop("zh", 0)
    return letters


def _fits_of_scripts(letters: Counter[str]) -> dict[str, int]:
    """By language, what its own script stands for in function words."""
    fits = {
        each: count // (_SYLLABLES if each in _SYLLABIC else _LETTERS)
        for each, count in letters.items()
        if each.islower()
    }
    return {each: fit for each, fit in fits.items() if fit >= _FEWEST}
