"""`python -m tiltyard_gateway`: the gateway process, started by `GatewayProcess`."""

from tiltyard_gateway.server import main

raise SystemExit(main())
