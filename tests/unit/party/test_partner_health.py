"""What /health says about the passive parties."""

from vfxgb.party.partner_health import FIRST_WAIT, LONGEST_WAIT, Partners


class Clock:
    now = 1_000_000_000.0

    def __call__(self) -> float:
        return self.now


def test_since_when() -> None:
    clock = Clock()
    partners = Partners(("shop", "mill"), clock)
    assert partners.status == "unreachable"
    clock.now += 10
    partners.reached("shop")
    partners.reached("mill")
    assert partners.status == "ok"
    clock.now += 10
    partners.reached("shop")
    partners.refused("mill", "no")
    assert partners.status == "refused"
    assert partners.describe() == {
        "shop": {"reachable": True, "since": "2001-09-09T01:46:50Z"},
        "mill": {"reachable": True, "since": "2001-09-09T01:47:00Z", "error": "no"},
    }
    partners.lost("shop", "gone")
    clock.now += 10
    partners.lost("shop", "gone again")
    assert partners.status == "unreachable"
    # It is lost since it was first missed, for the last reason that was seen.
    assert partners.describe()["shop"] == {"reachable": False, "since": "2001-09-09T01:47:00Z", "error": "gone again"}


def test_attempts_become_rare_until_one_succeeds() -> None:
    clock = Clock()
    partners = Partners(("shop",), clock)
    waits = []
    for _ in range(10):
        assert partners.is_time()
        begin = clock.now
        while not partners.is_time():
            clock.now += 1.0
        waits.append(clock.now - begin)
        partners._next = 0.0
    assert waits[0] == FIRST_WAIT
    assert waits == sorted(waits)
    assert waits[-1] == LONGEST_WAIT
    partners.reached("shop")
    assert partners.is_time()
    clock.now += FIRST_WAIT
    assert partners.is_time()
