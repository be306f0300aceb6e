"""A column ``guessing`` of an item table holds chances, or the table is refused."""

import pandas as pd
import pytest

from mtlirt.errors import InputError
from mtlirt.ingest.locations import as_location
from mtlirt.ingest.metadata import join_items
