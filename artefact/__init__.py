"""What would be published, taken apart and attacked: `make artefact`."""
