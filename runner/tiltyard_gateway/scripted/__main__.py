"""`python -m tiltyard_gateway.scripted FILE`: a scripted model server."""

from tiltyard_gateway.scripted.main import main

raise SystemExit(main())
