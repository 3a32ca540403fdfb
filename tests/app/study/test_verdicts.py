"""What a graph cannot show is said to be so, and counts neither for the paper nor against it."""

from pathlib import Path

import numpy as np
import pytest

from gcs.app.study.study_results import ResultCache, page, result, text, verdicts
from gcs.sim.graph.synthetic import Shape, synthetic
from gcs.sim.studies import STUDIES, StudyRequest
from gcs.sim.studies.study import ClaimVerdict


@pytest.mark.parametrize("name", ["cho-coverage", "cho-communication"])
def test_claims_about_sites_cannot_be_seen_on_one_site(name: str, tmp_path: Path) -> None:
    web, study, request = synthetic(Shape(pages=2000)), STUDIES[name], StudyRequest((1, 2), runs=1)
    assert web.sites is not None
    one = web.induced(web.sites == np.bincount(web.sites).argmax())
    done = result(study, one, request, lambda _share, _what: None, ResultCache(tmp_path))
    assert {verdict for _, verdict in verdicts(done)} == {ClaimVerdict.UNSEEN}
    assert "| cannot be seen on this graph |" in text(done) and "| yes |" not in text(done)
    assert f"| {study.title} | cannot be seen on this graph |" in page([(done, None)])
    done = result(study, web, request, lambda _share, _what: None, ResultCache(tmp_path))
    assert ClaimVerdict.UNSEEN not in {verdict for _, verdict in verdicts(done)}
