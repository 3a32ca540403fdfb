"""The language of a text: texts of our own in many languages, code, and what a page declares."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.page.language import SAMPLE_LENGTH, detect

#: the same few sentences about an old bridge, written for these tests
TEXTS = {
    "ar": "بني الجسر القديم في القرن الماضي، وقد كان هذا هو الطريق الذي يمر منه كل من يريد الوصول إلى المدينة.",
    "bg": "Старият мост е построен преди сто години и до днес по него се минава към града, но може да бъде затворен.",
    "ca": "El pont vell es va construir fa cent anys i encara és el camí més curt per anar al mercat amb els animals.",
    "cs": "Starý most byl postaven před sto lety a jeho oblouky jsou stále pevné, ale pokud prší, není možné přejít.",
    "da": "Den gamle bro er bygget for hundrede år siden, og den bliver også brugt af dem, der ikke har en båd.",
    "de": "Die alte Brücke wurde vor hundert Jahren gebaut, und wer in die Stadt will, muss auch heute über sie gehen.",
    "el": "Η παλιά γέφυρα χτίστηκε πριν από εκατό χρόνια και είναι ακόμα ο πιο σύντομος δρόμος για την πόλη.",
    "en": "The old bridge was built a hundred years ago, and it is still the shortest way to the market.",
    "es": "El puente viejo se construyó hace cien años y todavía es el camino más corto para llegar a la ciudad.",
    "fi": "Vanha silta on rakennettu sata vuotta sitten, mutta se ei ole enää vain tie, jota myös kauppiaat käyttivät.",
    "fr": "Le vieux pont a été construit il y a cent ans et il est encore le chemin le plus court pour aller dans la "
    "ville avec des bêtes.",
    "he": "הגשר הישן נבנה לפני מאה שנה, והוא עדיין הדרך הקצרה ביותר אל העיר לכל מי שגר בכפר שליד הנהר.",
    "hu": "A régi híd száz éve épült, és még ma is ez az út a legrövidebb, ha valaki nem akar csak a folyó mellett "
    "menni.",
    "id": "Jembatan tua itu dibangun seratus tahun yang lalu dan masih menjadi jalan untuk semua orang dari desa ini.",
    "it": "Il vecchio ponte è stato costruito cento anni fa e non è più la strada che si usa per andare nella città "
    "con gli animali.",
    "ja": "古い橋は百年前に作られましたが、今でも町へ行くいちばん近い道です。雨の日には渡ることができません。",
    "ko": "오래된 다리는 백 년 전에 지어졌고 지금도 시내로 가는 가장 빠른 길이지만 비가 오면 건널 수 없습니다.",
    "nl": "De oude brug is honderd jaar geleden gebouwd en het is nog altijd de kortste weg naar de stad voor wie er "
    "niet met een boot wil.",
    "no": "Den gamle broen er bygget for hundre år siden, og den blir også brukt av dem som ikke har noe annet valg.",
    "pl": "Stary most został zbudowany przed stu laty i do dziś jest to droga, którą można iść do miasta, jeśli nie "
    "pada.",
    "pt": "A ponte velha foi construída há cem anos e ainda é o caminho mais curto para os que não têm um barco na "
    "aldeia.",
    "ro": "Podul vechi a fost construit acum o sută de ani și este încă drumul cel mai scurt pentru cei care nu au o "
    "barcă în sat.",
    "ru": "Старый мост был построен сто лет назад, и до сих пор это самая короткая дорога в город для тех, кто не "
    "имеет лодки.",
    "sv": "Den gamla bron byggdes för hundra år sedan och är fortfarande den väg som de flesta tar till staden när det "
    "inte regnar.",
    "th": "สะพานเก่าสร้างขึ้นเมื่อร้อยปีก่อน และยังคงเป็นทางที่ใกล้ที่สุดไปยังเมืองสำหรับคนในหมู่บ้าน",
    "tr": "Eski köprü yüz yıl önce yapıldı ve bugün de şehre gitmek için en kısa yol, ama çok yağmur olan günlerde "
    "geçmek daha zor.",
    "uk": "Старий міст був збудований сто років тому, і це досі найкоротша дорога до міста для тих, хто не має човна, "
    "або як дощ.",
    "vi": "Cây cầu cũ được xây dựng một trăm năm trước và đây vẫn là con đường ngắn nhất đến chợ cho những người không "
    "có thuyền.",
    "zh": "这座老桥是一百年前建造的，到今天仍然是村里人进城最近的路，下雨的时候不能通过。",
}

CODE = """
import os, sys
def join(a, b, *rest, strict=False):
    if a is None or b in rest: raise ValueError("a", b)
    return os.path.join(a, b, *rest)
for x in range(10): print(x, file=sys.stderr)
template <typename InputIterator, typename Predicate> struct partition_point_impl { typedef typename result type; };
std::vector<std::pair<int, std::string>> operator()(const key_type& k, mapped_type& v) noexcept;
"""


@pytest.mark.parametrize("language", TEXTS)
def test_detect_tells_the_language_of_two_lines(language: str) -> None:
    assert detect(TEXTS[language]) == language


@pytest.mark.parametrize(
    "text", ["", "x", "Fig. 6.1", "404 Not Found", CODE, "QString QWidget QRect " * 50, "→ ©2026 €12 " * 9]
)
def test_detect_abstains_from_what_is_no_running_text(text: str) -> None:
    assert detect(text) == ""


@pytest.mark.parametrize("language", TEXTS)
def test_detect_is_not_misled_by_code_around_the_text(language: str) -> None:
    assert detect(f"{CODE}{TEXTS[language]}{CODE}") in (language, "")


@pytest.mark.parametrize("declared", ["en", "de", "ja", "ru", "sw"])
def test_detect_believes_the_declaration_where_the_text_says_nothing(declared: str) -> None:
    assert detect("Fig. 6.1: aptitude", declared) == declared
    assert detect(CODE, declared) == declared


@pytest.mark.parametrize("language", [each for each in TEXTS if each != "en"])
def test_detect_does_not_believe_a_declaration_that_the_text_contradicts(language: str) -> None:
    assert detect(TEXTS[language] + "\n" + TEXTS[language], "en") == language


@pytest.mark.parametrize(("found", "declared"), [("no", "nb"), ("no", "nn"), ("id", "ms"), ("zh", "yue")])
def test_detect_leaves_kin_to_the_declaration(found: str, declared: str) -> None:
    assert detect(TEXTS[found], declared) == declared


@pytest.mark.parametrize("language", [each for each in TEXTS if each != "en"])
def test_detect_is_not_misled_by_a_menu_in_the_declared_language(language: str) -> None:
    menu = "Home and news of the day · About us · Terms of use · Contact · Help for you\n"
    assert detect(menu + (TEXTS[language] + "\n") * 8, "en") == language


def test_detect_reads_a_sample_only() -> None:
    assert detect(" " * SAMPLE_LENGTH + TEXTS["de"]) == ""


@given(st.text(), st.sampled_from(["", "en", "nb", "xx"]))
def test_detect_takes_any_text(text: str, declared: str) -> None:
    assert isinstance(detect(text, declared), str)
