"""Mail and news (RFC 5322): the part that a person reads. Attachments are passed over.

Never raises: the standard library's parser takes whatever comes, and what it cannot make sense of is read as text.
"""


def message(content: bytes) -> tuple[bytes, str, str]:
    """The text of a message, preferably plain, its content type, and the subject."""
    from email import policy  # slow to load, and seldom needed
    from email.parser import BytesParser

    parsed = BytesParser(policy=policy.default).parsebytes(content)
    try:
        subject, part = str(parsed.get("subject", "")), parsed.get_body(("plain", "html"))
        if part is None:
            return b"", "text/plain", subject
        text = part.get_payload(decode=True)
    except (LookupError, ValueError, KeyError, AttributeError, TypeError):  # headers that the parser trips over
        return content, "text/plain", ""
    charset = part.get_content_charset("utf-8")
    return (text if isinstance(text, bytes) else b""), f"{part.get_content_type()}; charset={charset}", subject
