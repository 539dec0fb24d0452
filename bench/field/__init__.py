"""The entrants of `vfxgb bench field`: protocols of vfxgb, and other libraries; vfxgb/bench/field measures them.

adapter.py    what an entrant is, and what a party of one is told: the interface of adapters/
adapters/     one file per library; presence registers it
party.py      the process of one party
loop.py       SecureBoost's messages over any library of encryption, for libraries that train nothing themselves

A party runs under the interpreter that its library is installed for. So only adapters/vfxgb.py imports vfxgb, and the
others need nothing but numpy and their library.
"""
