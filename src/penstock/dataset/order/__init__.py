"""Orders: from positions in a pass to rows of the data.

``ds.shuffle(7).shard(0, 4)`` is an order around an order. Each answers what stands at any of its positions without
having been walked from its start, so a position is all the state that a pass has.
"""

from penstock.dataset.order.choice import Joined as Joined
from penstock.dataset.order.choice import Picked as Picked
from penstock.dataset.order.choice import Range as Range
from penstock.dataset.order.interleave import Interleaved as Interleaved
from penstock.dataset.order.order import AllRows as AllRows
from penstock.dataset.order.order import Around as Around
from penstock.dataset.order.order import Ints as Ints
from penstock.dataset.order.order import Keys as Keys
from penstock.dataset.order.order import Order as Order
from penstock.dataset.order.order import Pass as Pass
from penstock.dataset.order.order import Run as Run
from penstock.dataset.order.order import finite as finite
from penstock.dataset.order.ranks import Ranked as Ranked
from penstock.dataset.order.ranks import Remainder as Remainder
from penstock.dataset.order.ranks import Repeated as Repeated
from penstock.dataset.order.ranks import later_pass as later_pass
from penstock.dataset.order.shuffle import Shuffled as Shuffled
from penstock.dataset.order.shuffle import Windowed as Windowed
