"""A database on a server (PostgreSQL, MariaDB, MySQL, all that SQLAlchemy reaches): tables are lists, rows are pages.

    db://shop/   db://shop/orders/   db://shop/orders/?after=1000   db://shop/orders/17

What `shop` means stands in the environment of the machine that reads it (GCS_DB_SHOP=postgresql+psycopg://…), so that a
password is in no plan, record or log. A row is known by its primary key, or else by its place in the table.

Invariant: read only; names of tables come from the database itself, never from a URL; one connection a question.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from gcs.core.page.values import FailureKind
from gcs.errors import UsageError
from gcs.ports.fetch.sources import LISTED, MISSING, Answer, address_of, listing
from gcs.ports.fetch.sources.database import page_of_row

if TYPE_CHECKING:
    import sqlalchemy as sql


def read_server(name: str, inside: str, after: str, max_bytes: int) -> Answer | FailureKind:
    """What lies at the path `inside` the database of this name: "", "table/" or "table/row"."""
    address = address_of(name)
    if not address:
        return FailureKind.FORBIDDEN_ADDRESS
    try:
        import sqlalchemy as sql
    except ImportError:
        raise UsageError(f"db://{name}/ is read by SQLAlchemy: install gcs-crawler[databases]") from None

    table, row = (*map(unquote, inside.split("/")), "")[:2]
    try:
        engine = sql.create_engine(address, poolclass=sql.NullPool)
        with engine.connect() as connection:
            names = sorted(sql.inspect(connection).get_table_names())
            if not table:
                return listing(f"{each}/" for each in names if f"{each}/" > after)
            if table not in names:
                return MISSING
            found = ServerTable(connection, table)
            return found.page(row, max_bytes) if row else listing(found.keys(after))
    except (sql.exc.OperationalError, sql.exc.InterfaceError):
        return FailureKind.CONNECT
    except sql.exc.SQLAlchemyError:
        return FailureKind.PROTOCOL


class ServerTable:
    """One table, whose name the database has confirmed."""

    def __init__(self, connection: "sql.Connection", name: str) -> None:
        import sqlalchemy as sql

        self._connection = connection
        self._table = sql.Table(name, sql.MetaData(), autoload_with=connection, resolve_fks=False)
        keys = list(self._table.primary_key.columns)
        #: its rows are known by this column, or by their place in the order of all of these
        self._key = keys[0] if len(keys) == 1 else None
        self._order = keys or list(self._table.columns)

    def keys(self, after: str) -> Iterable[str]:
        """The keys of the rows behind `after`."""
        import sqlalchemy as sql

        if self._key is None:
            rows = self._connection.execute(sql.select(sql.func.count()).select_from(self._table)).scalar_one()
            return map(str, range(int(after) + 1 if after.isdigit() else 0, rows))
        query = sql.select(self._key).order_by(self._key).limit(LISTED + 1)
        if after:
            query = query.where(self._key > _value(self._key, after))
        return [str(key) for (key,) in self._connection.execute(query)]

    def page(self, key: str, max_bytes: int) -> Answer | FailureKind:
        import sqlalchemy as sql

        query = sql.select(self._table)
        if self._key is not None:
            query = query.where(self._key == _value(self._key, key))
        elif key.isdigit() and len(key) < 20:
            query = query.order_by(*self._order).limit(1).offset(int(key))
        else:
            return MISSING
        row = self._connection.execute(query).mappings().first()
        if row is None:
            return MISSING
        links = {
            column.name: _place(foreign.target_fullname.split(".")[-2], str(row[column.name]))
            for column in self._table.columns
            for foreign in column.foreign_keys
            if row[column.name] is not None
        }
        answer = page_of_row(f"{self._table.name} {key}", dict(row), links)
        return FailureKind.TOO_LARGE if len(answer.body) > max_bytes else answer


def _place(table: str, key: str) -> str:
    """Where a row of another table is, seen from a row."""
    return f"../{quote(table, safe='')}/{quote(key, safe='')}"


def _value(column: "sql.Column[Any]", text: str) -> object:
    """A key as the column has it."""
    try:
        kind = column.type.python_type
    except NotImplementedError:
        return text
    try:
        return kind(text) if kind in (int, float) else text
    except ValueError:
        return None
